// Reads scheduled events, prepares for them, approves them, and polls again.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Text;
using System.Threading;

[DataContract] class Compute { [DataMember(Name = "name")] public string Name = null; }
[DataContract] class Instance { [DataMember(Name = "compute")] public Compute Compute = null; }
[DataContract] class Document { [DataMember] public Event[] Events = null; }
[DataContract] class Event
{
    [DataMember] public string EventId = "", EventType = "", EventStatus = "", EventSource = "";
    [DataMember] public string[] Resources = null;
    [DataMember] public int? DurationInSeconds = null;
}

static class ScheduledEvents
{
    static string Given(string name, string otherwise)
    {
        var value = Environment.GetEnvironmentVariable(name);
        return string.IsNullOrEmpty(value) ? otherwise : value;
    }

    static readonly string Endpoint = Given("FOREWARN_ENDPOINT", "http://169.254.169.254");
    static readonly string EventsUrl = Endpoint + "/metadata/scheduledevents?api-version=2020-07-01";
    static readonly string InstanceUrl = Endpoint + "/metadata/instance?api-version=2021-02-01";
    static readonly TimeSpan Pause = TimeSpan.FromSeconds(double.Parse(
        Given("POLL_SECONDS", "1"), System.Globalization.CultureInfo.InvariantCulture));
    const int First = 130, Usual = 10; // seconds; the first response can take two minutes

    static bool ApproveAll; // --approve-all: even events for other VMs

    // No proxy, because the service must see this VM's address.
    static readonly HttpClient Client = new HttpClient(new HttpClientHandler { UseProxy = false });

    static void GetReady(Event e)
    {
        // Put your work here: drain connections, save data.
    }

    // Approve user-initiated events, and a Freeze of less than 10 seconds.
    static bool MayBeApproved(Event e)
    {
        var isShort = e.EventType == "Freeze" && e.DurationInSeconds >= 0 && e.DurationInSeconds < 10;
        return e.EventSource == "User" || isShort;
    }

    // Sends a request until it succeeds. Returns null if nothing has changed or the body is
    // empty. Errors such as 400 are thrown, because a retry cannot help.
    static T Send<T>(string url, int seconds, ref string tag, string body = null) where T : class
    {
        for (; ; Thread.Sleep(Pause))
        {
            var request = new HttpRequestMessage(body == null ? HttpMethod.Get : HttpMethod.Post, url);
            request.Headers.Add("Metadata", "true");
            if (tag != null) request.Headers.TryAddWithoutValidation("If-None-Match", tag);
            if (body != null) request.Content = new StringContent(body, Encoding.UTF8, "application/json");
            var status = 0;
            try
            {
                using (var patience = new CancellationTokenSource(seconds * 1000))
                using (var response = Client.SendAsync(request, patience.Token).Result)
                {
                    status = (int)response.StatusCode;
                    var text = response.Content.ReadAsByteArrayAsync().Result;
                    if (status == 304 || status == 200 && (body != null || text.Length == 0)) return null;
                    if (status == 200)
                    {
                        var reader = new DataContractJsonSerializer(typeof(T));
                        var found = (T)reader.ReadObject(new MemoryStream(text));
                        tag = response.Headers.ETag == null ? null : response.Headers.ETag.ToString();
                        return found;
                    }
                }
            }
            catch (Exception error) when (error is AggregateException || error is SerializationException)
            {
                Console.Error.WriteLine(url + ": " + error.GetBaseException().Message);
                continue;
            }
            if (status < 500 && status != 404 && status != 410 && status != 429)
                throw new InvalidOperationException(url + " returned " + status);
            Console.Error.WriteLine(url + " returned " + status);
        }
    }

    static void Approve(string id)
    {
        string tag = null;
        try
        {
            Send<Document>(EventsUrl, Usual, ref tag, "{\"StartRequests\": [{\"EventId\": \"" + id + "\"}]}");
            Console.WriteLine(id + " approved");
        }
        catch (InvalidOperationException error) { Console.WriteLine(id + " not approved: " + error.Message); }
    }

    // Prepares for an event for this VM; approves the event if this VM is named first.
    static void Act(Event e, string me)
    {
        var named = e.Resources ?? new string[0];
        if (e.EventStatus != "Scheduled") return;
        if (named.Contains(me, StringComparer.OrdinalIgnoreCase)) GetReady(e);
        var isFirst = string.Equals(named.FirstOrDefault(), me, StringComparison.OrdinalIgnoreCase);
        if (ApproveAll || isFirst && MayBeApproved(e)) Approve(e.EventId);
    }

    static void Main(string[] arguments)
    {
        ApproveAll = arguments.Contains("--approve-all");
        if (arguments.Any(argument => argument != "--approve-all"))
        {
            Console.Error.WriteLine("usage: scheduled-events.exe [--approve-all]");
            Environment.Exit(2);
        }
        Client.Timeout = Timeout.InfiniteTimeSpan; // each request has its own timeout
        string tag = null;
        Instance instance; // null if the body is empty
        while ((instance = Send<Instance>(InstanceUrl, First, ref tag)) == null) Thread.Sleep(Pause);
        var me = instance.Compute.Name;
        var seen = new Dictionary<string, string>();
        var seconds = First;
        for (tag = null; ; Thread.Sleep(Pause))
        {
            var document = Send<Document>(EventsUrl, seconds, ref tag);
            seconds = Usual;
            if (document == null) continue;
            var events = document.Events ?? new Event[0];
            var now = events.ToDictionary(e => e.EventId, e => e.EventStatus);
            foreach (var id in seen.Keys.Except(now.Keys)) Console.WriteLine(id + " gone");
            foreach (var e in events)
            {
                string status;
                if (seen.TryGetValue(e.EventId, out status) && status == e.EventStatus) continue;
                Console.WriteLine(e.EventId + " " + e.EventType + " " + e.EventStatus);
                Act(e, me);
            }
            seen = now;
        }
    }
}
