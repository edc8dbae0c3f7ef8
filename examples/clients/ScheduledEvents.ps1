# Reads scheduled events, prepares for them, approves them, and polls again.
#   ScheduledEvents.ps1                  approves user-initiated events and short Freezes
#   ScheduledEvents.ps1 --approve-all    approves every event, even one for another VM
# Written for Windows PowerShell 5.1 and PowerShell 7. Not executed yet, only parsed.
$ErrorActionPreference = 'Stop'
$approveAll = $args -contains '--approve-all'
if ($args | Where-Object { $_ -ne '--approve-all' }) {
    [Console]::Error.WriteLine('usage: ScheduledEvents.ps1 [--approve-all]')
    exit 2
}

$endpoint = if ($env:FOREWARN_ENDPOINT) { $env:FOREWARN_ENDPOINT } else { 'http://169.254.169.254' }
$eventsUri = "$endpoint/metadata/scheduledevents?api-version=2020-07-01"
$instanceUri = "$endpoint/metadata/instance?api-version=2021-02-01"
$pause = if ($env:POLL_SECONDS) { 1000 * [double]$env:POLL_SECONDS } else { 1000 }
$firstTimeout = 130 # seconds; the first response can take two minutes
$timeout = 10

# Do not use a proxy, because the service must see the VM's own address.
$isCore = $PSVersionTable.PSVersion.Major -ge 6
if (-not $isCore) { [System.Net.WebRequest]::DefaultWebProxy = $null }

function Initialize-ForEvent($scheduledEvent) {
    # Put your work here: drain connections, save data.
}

# Approve user-initiated events, and a Freeze of less than 10 seconds.
function Test-CanApprove($scheduledEvent) {
    $seconds = $scheduledEvent.DurationInSeconds
    $isShort = $null -ne $seconds -and $seconds -ge 0 -and $seconds -lt 10
    $scheduledEvent.EventSource -eq 'User' -or ($scheduledEvent.EventType -eq 'Freeze' -and $isShort)
}

# Sends a request until it succeeds. Errors such as 400 are thrown, because a retry
# cannot help.
function Invoke-Metadata($uri, $body, $seconds) {
    $request = @{ Uri = $uri; Headers = @{ Metadata = 'true' }; TimeoutSec = $seconds }
    if ($isCore) { $request.NoProxy = $true }
    if ($body) {
        $request.Method = 'POST'
        $request.Body = $body
        $request.ContentType = 'application/json'
    }
    while ($true) {
        try {
            return Invoke-RestMethod @request
        } catch {
            $response = $_.Exception.Response
            $status = if ($response) { [int]$response.StatusCode } else { 0 }
            if ($status -ge 400 -and $status -lt 500 -and $status -notin 404, 410, 429) { throw }
            [Console]::Error.WriteLine("${uri}: $($_.Exception.Message)")
        }
        Start-Sleep -Milliseconds $pause
    }
}

function Approve-ScheduledEvent($eventId) {
    $body = @{ StartRequests = @(@{ EventId = $eventId }) } | ConvertTo-Json -Depth 3 -Compress
    try {
        [void](Invoke-Metadata $eventsUri $body $timeout)
        "$eventId approved"
    } catch {
        "$eventId not approved: $($_.Exception.Message)"
    }
}

# Prepares for an event for this VM; approves the event if this VM is named first.
function Resolve-ScheduledEvent($scheduledEvent, $me) {
    $named = @($scheduledEvent.Resources)
    if ($scheduledEvent.EventStatus -ne 'Scheduled') { return }
    if ($named -contains $me) { Initialize-ForEvent $scheduledEvent }
    if ($approveAll -or ($named[0] -eq $me -and (Test-CanApprove $scheduledEvent))) {
        Approve-ScheduledEvent $scheduledEvent.EventId
    }
}

$me = $null
while (-not $me) {
    $me = (Invoke-Metadata $instanceUri $null $firstTimeout).compute.name
    if (-not $me) { Start-Sleep -Milliseconds $pause } # the body was empty
}
$seen = @{}
$seconds = $firstTimeout
while ($true) {
    $document = Invoke-Metadata $eventsUri $null $seconds
    $seconds = $timeout
    # An empty body, or one that is not JSON, does not have this property: no change.
    if ($null -ne $document.DocumentIncarnation) {
        $now = @{}
        foreach ($scheduledEvent in @($document.Events | Where-Object { $_ })) {
            $now[$scheduledEvent.EventId] = $scheduledEvent.EventStatus
            if ($seen[$scheduledEvent.EventId] -ne $scheduledEvent.EventStatus) {
                "$($scheduledEvent.EventId) $($scheduledEvent.EventType) $($scheduledEvent.EventStatus)"
                Resolve-ScheduledEvent $scheduledEvent $me
            }
        }
        $seen.Keys | Where-Object { -not $now.ContainsKey($_) } | ForEach-Object { "$_ gone" }
        $seen = $now
    }
    Start-Sleep -Milliseconds $pause
}
